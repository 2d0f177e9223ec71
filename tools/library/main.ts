import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CONFIG_TYPES, configTypes } from './config-types.ts';
import { libraryReference, REFERENCE } from './reference.ts';

/* `npm run docs:library`: what is generated about the library, from the decoders and its declarations. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

await writeFile(join(ROOT, CONFIG_TYPES), await configTypes());
await promisify(execFile)(join(ROOT, 'node_modules/.bin/oxfmt'), [CONFIG_TYPES], { cwd: ROOT });
await writeFile(join(ROOT, REFERENCE), libraryReference());
