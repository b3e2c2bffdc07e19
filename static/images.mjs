// Draws favicon.ico (16 and 32 pixels), apple-touch-icon.png and og.png from
// icon.svg with Chromium. Run it when the mark changes:
//
//   node static/images.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32, deflateSync } from "node:zlib";
import { chromium } from "@playwright/test";

const folder = dirname(fileURLToPath(import.meta.url));
const mark = readFileSync(join(folder, "icon.svg"), "utf8");
const font = readFileSync(process.env.FONT ?? join(folder, "fonts/inter.woff2")).toString("base64");
const logos = Object.fromEntries(
  readFileSync(join(folder, "../views/ui/logos/logos.txt"), "utf8").trim().split("\n").map((l) => [l.split(/[ !\t]/)[0], l.split("\t")[1]]),
);

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium" });

// flat returns an image of few colors as a PNG with a palette. pixels are RGBA;
// colors are rounded, so that all shades of the edges fit.
function flat(width, height, pixels) {
  const colors = new Map();
  const rows = Buffer.alloc(height * (width + 1));
  for (let i = 0; i < width * height; i++) {
    const shade = pixels.subarray(4 * i, 4 * i + 3).map((v) => Math.min(255, Math.round(v / 14) * 14));
    const key = shade.join();
    if (!colors.has(key)) colors.set(key, { at: colors.size, of: pixels.subarray(4 * i, 4 * i + 3) });
    rows[i + Math.floor(i / width) + 1] = colors.get(key).at;
  }
  if (colors.size > 256) throw new Error(`${colors.size} colors do not fit into a palette`);
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 3, 0, 0, 0]);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head), chunk("PLTE", Buffer.concat([...colors.values()].map((c) => c.of))),
    chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0)),
  ]);
}

// decoded returns the RGBA pixels of a PNG.
async function decoded(width, height, png) {
  const page = await browser.newPage();
  const text = await page.evaluate(async ([w, h, source]) => {
    const image = await createImageBitmap(await (await fetch(source)).blob());
    const canvas = new OffscreenCanvas(w, h).getContext("2d");
    canvas.drawImage(image, 0, 0);
    let out = "";
    for (const v of canvas.getImageData(0, 0, w, h).data) out += String.fromCharCode(v);
    return btoa(out);
  }, [width, height, "data:image/png;base64," + png.toString("base64")]);
  await page.close();
  return Buffer.from(text, "base64");
}

// draw returns the PNG of a page without margins.
async function draw(width, height, body, style = "") {
  const page = await browser.newPage({ viewport: { width, height } });
  await page.setContent(`<style>*{margin:0}body{width:${width}px;height:${height}px;overflow:hidden}svg{display:block}${style}</style>${body}`);
  await page.evaluate(() => document.fonts.ready);
  const png = await page.screenshot({ omitBackground: true });
  await page.close();
  return png;
}

// ico returns an icon file of square PNGs.
function ico(images) {
  const head = Buffer.alloc(6 + 16 * images.length);
  head.writeUInt16LE(1, 2);
  head.writeUInt16LE(images.length, 4);
  let offset = head.length;
  images.forEach(({ size, png }, i) => {
    const at = 6 + 16 * i;
    head.writeUInt8(size, at);
    head.writeUInt8(size, at + 1);
    head.writeUInt16LE(1, at + 4);
    head.writeUInt16LE(32, at + 6);
    head.writeUInt32LE(png.length, at + 8);
    head.writeUInt32LE(offset, at + 12);
    offset += png.length;
  });
  return Buffer.concat([head, ...images.map((i) => i.png)]);
}

const sized = (size) => mark.replace("<svg ", `<svg width="${size}" height="${size}" `);
const images = [];
for (const size of [16, 32]) images.push({ size, png: await draw(size, size, sized(size)) });
writeFileSync(join(folder, "favicon.ico"), ico(images));
// Home screens round the corners themselves.
writeFileSync(join(folder, "apple-touch-icon.png"), await draw(180, 180, sized(180).replace(/ rx="\d+"/, "")));

const left = ["claude", "cursor", "googlegemini"].map((name, i) => ({ name, x: 690, y: 163 + 120 * i }));
const right = ["github", "linear", "notion", "stripe", "sentry"].map((name, i) => ({ name, x: 1080, y: 79 + 102 * i }));
const node = ({ name, x, y }) =>
  `<rect x="${x}" y="${y}" width="64" height="64" rx="14" fill="#fff" stroke="#d3d8d3"/><svg x="${x + 17}" y="${y + 17}" width="30" height="30" viewBox="0 0 24 24"><path fill="#171c1a" d="${logos[name]}"/></svg>`;
const flow = (d, width) => `<path d="${d}" fill="none" stroke="#a9d2c4" stroke-width="${width}"/>`;
const picture = `<svg width="1200" height="630" viewBox="0 0 1200 630">
${left.map((n, i) => flow(`M754 ${n.y + 32}C820 ${n.y + 32} 820 315 880 315`, [9, 6, 5][i])).join("")}
${right.map((n, i) => flow(`M988 315C1040 315 1040 ${n.y + 32} 1080 ${n.y + 32}`, [9, 7, 6, 5, 5][i])).join("")}
${[...left, ...right].map(node).join("")}
<rect x="868" y="255" width="120" height="120" rx="24" fill="#e3f3ed" stroke="#0b6e56"/><svg x="894" y="281" width="68" height="68" viewBox="0 0 32 32">${mark.replace(/<\/?svg[^>]*>/g, "")}</svg></svg>`;
const og = await draw(1200, 630, `<div class="text"><p>Gateway</p><h1>One endpoint for all your MCP servers</h1></div>${picture}`, `
  @font-face{font-family:Inter;src:url(data:font/woff2;base64,${font});font-weight:400 700}
  body{background:#fbfbfa;color:#171c1a;font-family:Inter;position:relative}
  .text{position:absolute;left:72px;top:190px;width:560px}
  p{color:#0b6e56;font-size:30px;font-weight:680;letter-spacing:-.02em;margin-bottom:18px}
  h1{font-size:66px;line-height:1.1;font-weight:680;letter-spacing:-.03em}`);
writeFileSync(join(folder, "og.png"), flat(1200, 630, await decoded(1200, 630, og)));
await browser.close();
