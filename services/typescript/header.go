package typescript

// declarationsHeader starts all declarations, both complete ones and pages, so
// that they type-check on their own, with or without the libraries of a
// browser.
const declarationsHeader = `// Tools for code run by gateway_executeTool. Each constant at the end is a server and each of its members a tool. A call
// takes one arguments object and resolves to the tool's result. Imports are not supported. Return the result.
interface ToolError extends Error {
  readonly tool: string;
  readonly content: unknown[];
  readonly seq: number;
}
/** Thrown by a failed call. */
declare const ToolError: { new (message?: string): ToolError; readonly prototype: ToolError };
interface Gateway {
  /** Calls a tool by its full name, alias__tool. */
  call(name: string, args?: Record<string, unknown>): Promise<any>;
  /** Returns the declaration of one tool by its full name. */
  describe(name: string): Promise<string>;
  /** Searches the tools for a task in plain language. */
  search(task: string | { task: string; server?: string; limit?: number } | { query: string; limit?: number; cursor?: string }): Promise<any>;
  /** Stores JSON or a text of up to 5 MiB for 24 hours, only for you. A name has up to 128 of A-Z a-z 0-9 . _ - */
  store(name: string, value: unknown): Promise<{ name: string; bytes: number; expiresAt: string }>;
  /** Returns a stored value, also the whole of a cut result by its id. */
  load(name: string): Promise<any>;
}
declare const gateway: Gateway;
/** The input of this run. */
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

// fetchHeader follows the header in projects that allow fetch.
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
