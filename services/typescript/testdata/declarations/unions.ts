type unions__narrowed$u20$by$u20$a$u20$reference__S = "u" | "v";
declare const unions: {
  "kinds"(args: {
    v: string | null;
    /** @integer */
    w?: number | null;
    x?: "a" | 1 | null | true;
    y?: { k: [1, "z"] };
  }): Promise<any>;
  "either"(args: { id: string; name?: string } | { id?: string; name: string }): Promise<any>;
  "shapes"(args: {
    shape: { kind: "circle"; r: number } | { kind: "box"; w: number; h: number };
  }): Promise<any>;
  "lists of either"(args?: {
    xs?: (string | {
      /** @integer */
      id: number;
    })[];
    ys?: ("a" | "b")[];
  }): Promise<any>;
  "both"(args: { a: string; b: number }): Promise<any>;
  "told once"(args?: {
    v?: string;
    /** @integer */
    n?: number;
  }): Promise<any>;
  "true and false"(args?: {
    any?: unknown;
    none?: never;
    empty?: unknown;
    never?: never;
    "not null"?: unknown;
  }): Promise<any>;
  "narrowed by a reference"(args: {
    x: unions__narrowed$u20$by$u20$a$u20$reference__S;
    y?: unions__narrowed$u20$by$u20$a$u20$reference__S | null;
  }): Promise<any>;
  "conditions"(args: { k: "a" | "b"; extra?: unknown; more?: unknown; also?: unknown }): Promise<any>;
};
