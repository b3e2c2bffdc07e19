// The server "3d.tools/x".
type $n3d$otools$sx__odd$u20$alias__x$_y$u20$z = string;
declare const $n3d$otools$sx: {
  "odd alias"(args?: { a?: $n3d$otools$sx__odd$u20$alias__x$_y$u20$z }): Promise<any>;
};
