import type { PageFiles } from '../../../packages/watch/src/dashboard/files/page-files.ts';
import { readAsset } from './assets.ts';
import { filesOf, PACKED_PAGE, type PackedPage } from './packed-page.ts';

/* Stands for packages/watch/src/dashboard/files/load-page-files.ts where the page is a bundle. */

export const loadPageFiles = async (): Promise<PageFiles> =>
  filesOf(JSON.parse(Buffer.from(readAsset(PACKED_PAGE)).toString()) as PackedPage);
