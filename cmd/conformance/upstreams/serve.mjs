// Serves MCP servers of the TypeScript SDKs on the loopback interface, each as the
// SDK's documentation shows. A server prints READY and its URL when it accepts
// connections. PORT selects a port, so that a restarted server keeps its address.
import { randomUUID } from "node:crypto";
import http from "node:http";
import { Readable } from "node:stream";

import { createMcpHandler } from "@modelcontextprotocol/server";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

function listen(handle) {
  const server = http.createServer((request, response) => {
    handle(request, response).catch((failure) => {
      console.error(failure);
      response.destroy();
    });
  });
  server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
    process.stdout.write(`READY http://127.0.0.1:${server.address().port}/mcp\n`);
  });
  process.on("SIGTERM", () => process.exit(0));
}

/** Serves SDK 2.x, without sessions. factory returns a new server for each request. */
export function serveStateless(factory, options) {
  const handler = createMcpHandler(factory, options);
  listen(async (request, response) => {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const body = request.method === "POST" ? { body: Readable.toWeb(request), duplex: "half" } : {};
    const answer = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, { method: request.method, headers: request.headers, signal: gone.signal, ...body }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) for await (const chunk of answer.body) response.write(chunk);
    response.end();
  });
  return handler;
}

/** Serves SDK 1.x with sessions. factory returns a new McpServer for each session. */
export function serveSessions(factory) {
  const sessions = new Map();
  listen(async (request, response) => {
    const id = request.headers["mcp-session-id"];
    let transport = sessions.get(id);
    if (!transport && id) {
      response.writeHead(404).end();
      return;
    }
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (opened) => sessions.set(opened, transport),
        onsessionclosed: (closed) => sessions.delete(closed),
      });
      await factory().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
}
