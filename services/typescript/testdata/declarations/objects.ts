declare const objects: {
  /** Takes nothing else. */
  "closed"(args: { a: string }): Promise<any>;
  "unsaid"(args?: { a?: string; b?: number }): Promise<any>;
  "open"(args: { a: string; [key: string]: unknown }): Promise<any>;
  "typed rest"(args: {
    a: string;
    b?: boolean;
    [key: string]: number | string | boolean | undefined;
  }): Promise<any>;
  "patterns"(args?: { [key: string]: string | number }): Promise<any>;
  "nothing"(args?: Record<string, never>): Promise<any>;
  "anything"(args?: { [key: string]: unknown }): Promise<any>;
  "no schema words"(args?: { [key: string]: unknown }): Promise<any>;
  "names listed"(args?: { r?: { north?: number; south?: number } }): Promise<any>;
  "required elsewhere"(args: { a: string; ghost: unknown }): Promise<any>;
  "inherited names"(args?: {
    toString?: string | Object["toString"];
    valueOf?: number | Object["valueOf"];
    constructor?: boolean | Object["constructor"];
    x?: string;
  }): Promise<any>;
};
