// Rewrites the paths of logos.txt from the npm package simple-icons. A line has
// the names of a product, a tab and the path; its first name is the slug of
// simple-icons. To add a product, add a line with its names and run:
//
//   npm install --no-save simple-icons svgo && node views/ui/logos/refresh.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { optimize } from "svgo";

const folder = dirname(fileURLToPath(import.meta.url));
const icons = join(dirname(createRequire(import.meta.url).resolve("simple-icons")), "icons");
const plugins = [{ name: "convertPathData", params: { floatPrecision: 2 } }];

// shape returns the path of an icon in a square of 24, rounded to what shows at
// the size of a tile.
function shape(slug) {
  const svg = optimize(readFileSync(join(icons, slug + ".svg"), "utf8"), { plugins }).data;
  return svg.match(/ d="([^"]+)"/)[1];
}

const file = join(folder, "logos.txt");
const names = readFileSync(file, "utf8").trim().split("\n").map((line) => line.split("\t")[0].trim());
names.sort();
writeFileSync(file, names.map((n) => n + "\t" + shape(n.split(" ")[0].replace("!", "")) + "\n").join(""));
