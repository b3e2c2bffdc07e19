package typescript

// declarationsHeader begins every text of declarations, the whole and each
// page, so that any of them type-checks on its own: with the libraries of the
// language alone, and also with those of a browser.
const declarationsHeader = `// Tools for code that gateway_executeTool runs. Each constant at the end is a server, each of its members a tool: a call
// takes one object of arguments and resolves to the value of the tool. There are no modules; return the result.
interface ToolError extends Error {
  readonly tool: string;
  readonly content: unknown[];
  readonly seq: number;
}
/** A call that fails throws it. */
declare const ToolError: { new (message?: string): ToolError; readonly prototype: ToolError };
declare const gateway: {
  /** Calls a tool by its full name, alias__tool. */
  call(name: string, args?: Record<string, unknown>): Promise<any>;
  /** Searches the tools for a task in plain words. */
  search(task: string | { task: string; server?: string; limit?: number } | { query: string; limit?: number; cursor?: string }): Promise<any>;
};
/** The input of the execution. */
declare const input: any;
interface Console {
  log(...values: any[]): void;
  info(...values: any[]): void;
  warn(...values: any[]): void;
  error(...values: any[]): void;
  debug(...values: any[]): void;
}
declare var console: Console;
declare function setTimeout(run: (...values: any[]) => void, ms?: number, ...values: any[]): number;
declare function clearTimeout(id?: number): void;
declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;
declare var URL: typeof globalThis extends { onmessage: any; URL: infer T } ? T : any;
declare var URLSearchParams: typeof globalThis extends { onmessage: any; URLSearchParams: infer T } ? T : any;
declare var TextEncoder: typeof globalThis extends { onmessage: any; TextEncoder: infer T } ? T : any;
declare var TextDecoder: typeof globalThis extends { onmessage: any; TextDecoder: infer T } ? T : any;
`

// fetchHeader follows the header in projects whose code may use fetch.
const fetchHeader = `interface FetchInit { method?: string; headers?: Record<string, string>; body?: string; redirect?: "follow" | "error" | "manual" }
interface FetchResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly url: string;
  readonly headers: { get(name: string): string | null; has(name: string): boolean };
  text(): Promise<string>;
  json(): Promise<any>;
}
declare function fetch(url: string, init?: FetchInit): Promise<FetchResponse>;
`
