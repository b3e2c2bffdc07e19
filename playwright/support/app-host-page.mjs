// The script of a host of MCP Apps: a page that connects to an MCP endpoint,
// calls a tool, and shows the tool's app in a frame. It is bundled for browsers.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, PostMessageTransport, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";

const info = { name: "app-host", version: "1" };
const capabilities = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } };

/** Calls a tool and shows its app. Returns the resource, and the error of a call by a bare name. */
globalThis.showApp = async (endpoint, name, bareName) => {
  const client = new Client(info, { capabilities });
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint)));
  const { tools } = await client.listTools();
  const uri = getToolUiResourceUri(tools.find((tool) => tool.name === name));
  const { contents } = await client.readResource({ uri });
  const frame = document.createElement("iframe");
  frame.title = name;
  frame.sandbox = "allow-scripts";
  frame.width = "800";
  frame.height = "600";
  document.body.append(frame);
  // The bridge forwards calls of the app with the names that the app uses.
  const bridge = new AppBridge(client, info, { serverTools: {}, serverResources: {}, logging: {} });
  const initialized = new Promise((done) => (bridge.oninitialized = done));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = contents[0].text;
  await initialized;
  await bridge.sendToolInput({ arguments: {} });
  await bridge.sendToolResult(await client.callTool({ name, arguments: {} }));
  let refused = null;
  if (bareName) refused = await client.callTool({ name: bareName, arguments: {} }).then(() => null, ({ code, data }) => ({ code, data }));
  return { uri, mimeType: contents[0].mimeType, html: contents[0].text, refused };
};
