import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Where what is built lies in the published package, beside `packages`. */
export const DIST = join(ROOT, 'dist');
