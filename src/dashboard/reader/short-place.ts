import { basename } from 'node:path';
import type { ConfigLocation } from '../../config/errors.ts';

/** A place without its directories: `weir.toml:12`. */
export const shortPlace = (place: ConfigLocation | undefined): string =>
  place === undefined
    ? ''
    : place.file === undefined
      ? `line ${place.line} of the built-in configuration`
      : `${basename(place.file)}:${place.line}`;
