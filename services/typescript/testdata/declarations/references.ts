type references__tree__Node = { v: string; kids?: references__tree__Node[] };
type references__tree__Node_2 = {
  /** @integer */
  id: number;
};
type references__self__Self = { child?: references__self__Self; n?: number };
type references__circle__A = unknown;
type references__circle__B = references__circle__A | null;
type references__map$u20$of$u20$itself__M = { [key: string]: string | references__map$u20$of$u20$itself__M };
type references__union$u20$with$u20$itself__Filter = { and: references__union$u20$with$u20$itself__Filter[] } | { eq: string };
type references__pointer__y = "p" | "q";
type references__pointer__a$sb$u20$c = number;
type references__anchor__here = boolean;
type references__beside__B = { id: string };
type references__beside$u2c$$u20$draft$_07__B = { id: string };
declare const references: {
  "tree"(args: { root: references__tree__Node }): Promise<{ nodes: references__tree__Node_2[] }>;
  "self"(args?: references__self__Self): Promise<any>;
  /** The types are wider than the schema: a part of it refers only to itself. */
  "circle"(args?: { a?: references__circle__A }): Promise<any>;
  "map of itself"(args?: { m?: references__map$u20$of$u20$itself__M }): Promise<any>;
  "union with itself"(args: { f: references__union$u20$with$u20$itself__Filter }): Promise<any>;
  "pointer"(args?: {
    x?: { y?: "p" | "q" };
    z?: references__pointer__y;
    w?: references__pointer__a$sb$u20$c;
  }): Promise<any>;
  "anchor"(args?: { x?: references__anchor__here }): Promise<any>;
  /** The types are wider than the schema: it refers to a schema that it doesn't contain. */
  "elsewhere"(args?: { x?: unknown; y?: unknown }): Promise<any>;
  "beside"(args: { x: references__beside__B & { more: number } }): Promise<any>;
  "beside, draft-07"(args?: { x?: references__beside$u2c$$u20$draft$_07__B }): Promise<any>;
};
// SCHEMA_SIMPLIFIED: The types of references__circle are wider than its schema: a part of it refers only to itself.
// SCHEMA_SIMPLIFIED: The types of references__elsewhere are wider than its schema: it refers to a schema that it doesn't contain.
