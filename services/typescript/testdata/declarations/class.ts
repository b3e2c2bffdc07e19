// The server "class".
declare const class$: {
  "reserved alias"(args?: { a?: string }): Promise<any>;
};
