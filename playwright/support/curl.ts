import type { Gateway } from "./gateway.ts";

/**
 * Sends the request of a curl command line and returns the response. A shell
 * splits the line into words, so that quotes work as they do for a visitor
 * who pastes it. curl itself is not needed. An unsupported option is
 * an error.
 */
export async function sendCurl(gateway: Gateway, commandLine: string): Promise<Response> {
  const words = (await gateway.shell(`curl() { printf '%s\\0' "$@"; }\n${commandLine}`)).split("\0").slice(0, -1);
  const headers = new Headers();
  let url: string | undefined;
  let body: string | undefined;
  while (words.length > 0) {
    const word = words.shift()!;
    switch (word) {
      case "-s":
        break;
      case "-H": {
        const [name, value] = words.shift()!.split(/:\s*/, 2);
        headers.set(name, value);
        break;
      }
      case "-d":
        body = words.shift();
        break;
      default:
        if (word.startsWith("-") || url) throw new Error(`unexpected "${word}" in: ${commandLine}`);
        url = word;
    }
  }
  if (!url) throw new Error(`no URL in: ${commandLine}`);
  return fetch(url, { method: body === undefined ? "GET" : "POST", headers, body });
}
