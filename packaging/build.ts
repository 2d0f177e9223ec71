import { parseArgs } from 'node:util';
import { buildDist } from './dist.ts';
import { DIST } from './root.ts';

/* `npm run build`: what is published in place of the source. */

const { values } = parseArgs({ options: { out: { type: 'string', default: DIST } } });
await buildDist(values.out);
