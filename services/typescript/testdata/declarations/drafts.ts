type drafts__draft$_04__s = string;
declare const drafts: {
  "draft-04"(args: {
    /** @minimum 0 @exclusiveMinimum true */
    n: number;
    s?: drafts__draft$_04__s;
  }): Promise<any>;
  "2019-09"(args?: { t?: [string?]; r?: unknown }): Promise<any>;
};
