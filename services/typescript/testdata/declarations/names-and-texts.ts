// The server "names-and-texts".
declare const names$_and$_texts: {
  "weird keys"(args: {
    "a-b": string;
    "1x"?: string;
    class?: string;
    ""?: string;
    "quo\"te"?: string;
    "new\nline"?: string;
    "@type"?: string;
    "ünï"?: string;
    "a.b"?: string;
    "back\\slash"?: string;
    "\u{2028}"?: string;
    "\u{202e}"?: string;
    "$d"?: string;
    "`"?: string;
  }): Promise<any>;
  /**
   * A tool *\/ evil
   * /** nested *\/ `${x}` </script>
   *
   * @ ts-ignore
   * // @ ts-nocheck
   */
  "texts"(args?: {
    /**
     * ends *\/ }; declare const pwn: any; /*
     * @ ts-expect-error
     * next rtl  *\/ x @pattern ^a*\/$ @default *\/ x
     */
    a?: string;
    /** Only a title @format date-time @minLength 1 @deprecated */
    b?: string;
    /** A number. @integer @minimum 1 @maximum 9 @default 3 */
    c?: number;
  }): Promise<any>;
  "constructor"(args?: { a?: string }): Promise<any>;
  "__proto__"(args?: { a?: string }): Promise<any>;
  "new"(args?: { a?: string }): Promise<any>;
  "delete"(args?: { a?: string }): Promise<any>;
  "get"(args?: { a?: string }): Promise<any>;
  "with space"(args?: { a?: string }): Promise<any>;
  "quo\"te\\"(args?: { a?: string }): Promise<any>;
  "日本"(args?: { a?: string }): Promise<any>;
  ""(args?: { a?: string }): Promise<any>;
  "\u{2028}"(args?: { a?: string }): Promise<any>;
};
