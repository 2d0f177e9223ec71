import { writeFileSync } from 'node:fs';
import { drawHouse, picturePath, THEMES } from './drawing.ts';
import { readImports, sourceFiles } from './imports.ts';

/** Draws the pictures of docs/architecture.md anew from the imports of packages. */
const [files, imports] = [await sourceFiles(), await readImports()];
for (const [name, theme] of Object.entries(THEMES)) {
  writeFileSync(picturePath(name), drawHouse(files, imports, theme));
}
