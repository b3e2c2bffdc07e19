declare const arrays: {
  "tuples"(args: {
    /** @minItems 2 */
    old: [string, number];
    new?: [string?, (number | null)?, ...boolean[]];
    /** @maxItems 2 */
    short?: [string?, string?];
    tail?: [string?, ...unknown[]];
  }): Promise<any>;
  "untyped"(args?: { a?: { b?: string }; l?: number[]; m?: unknown[]; n?: never[] }): Promise<any>;
};
