import { buildDist } from './dist.ts';
import { DIST } from './root.ts';

/* `npm run build`: what is published in place of the source. */

await buildDist(DIST);
