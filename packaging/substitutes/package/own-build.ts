import type { Build } from '@weir/io/process';

/** Set by packaging/bundle.ts. */
declare const WEIR_BUILD: Build | null;

/** What this package was built from. */
export const ownBuild = (): Build | undefined => WEIR_BUILD ?? undefined;
