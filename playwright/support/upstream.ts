import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A tool definition of an upstream server, as in tools/list. */
export interface UpstreamTool {
  name: string;
  [member: string]: unknown;
}

/** The script of an upstream server. */
export interface Script {
  name?: string;
  title?: string;
  instructions?: string;
  tools: UpstreamTool[];
  /** Contents of resources/read by URI. Without it, the server has no resources. */
  resources?: Record<string, object>;
  /** Returns the result of tools/call, or a promise of it. An exception becomes a JSON-RPC error with its text. */
  call?(name: string, args: Record<string, unknown>, during: During): unknown;
}

/** Context of a long call. */
export interface During {
  /** Reports the call's progress to the client. The response is then a stream. */
  progress(params: { progress: number; total?: number; message?: string }): void;
  /** Aborted when the client has abandoned the call. */
  signal: AbortSignal;
}

/** A running upstream server. */
export interface Upstream {
  url: string;
  /** The script. Changes apply to the next request. */
  script: Script;
  stop(): Promise<void>;
}

/** Starts an MCP server on this machine with the script's responses. */
export async function startUpstream(script: Script): Promise<Upstream> {
  const running = { ...script };
  const server = createServer((request, response) => void serve(running, request, response));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const stop = () =>
    new Promise<void>((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${port}/mcp`, script: running, stop };
}

async function serve(script: Script, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") {
    response.writeHead(405).end();
    return;
  }
  let body = "";
  for await (const piece of request) body += piece;
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const send = (message: object) => {
    if (!response.headersSent) response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  };
  const during: During = {
    progress: (progress) => send({ method: "notifications/progress", params: { progressToken: params._meta?.progressToken, ...progress } }),
    signal: gone.signal,
  };
  let answer: object;
  try {
    answer = { id, result: await resultOf(script, method, params, during) };
  } catch (failure) {
    answer = { id, error: { code: method === "tools/call" ? -32000 : -32601, message: (failure as Error).message } };
  }
  if (response.headersSent) {
    send(answer);
    response.end();
  } else {
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", ...answer }));
  }
}

function resultOf(script: Script, method: string, params: { name: string; uri: string; arguments: Record<string, unknown> }, during: During): unknown {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {}, ...(script.resources && { resources: {} }) },
        serverInfo: { name: script.name ?? "scripted", title: script.title, version: "1" },
        instructions: script.instructions,
      };
    case "ping":
      return {};
    case "tools/list":
      return { tools: script.tools };
    case "tools/call":
      if (!script.call) return { content: [{ type: "text", text: JSON.stringify(params.arguments) }] };
      return script.call(params.name, params.arguments, during);
    case "resources/list":
      return { resources: Object.keys(script.resources ?? {}).map((uri) => ({ uri, name: uri })) };
    case "resources/templates/list":
      return { resourceTemplates: [] };
    case "resources/read":
      return { contents: [{ uri: params.uri, ...script.resources?.[params.uri] }] };
    default:
      throw new Error(`no method ${method}`);
  }
}
