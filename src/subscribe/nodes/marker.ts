import { IMPORTED, isSourceName, SOURCE_MARKER } from '../../import/write/markers.ts';
import { printableJson } from '../../printable.ts';

/** The comment above a node that names its origin. */
export interface Marker {
  /** The name of the source, or `IMPORTED`. */
  readonly source: string;
  /** When the source dropped the node, which is kept nevertheless; an ISO 8601 time. */
  readonly goneSince?: string | undefined;
  /** The node's name at the source, if it differs from the one in the file. */
  readonly there?: string | undefined;
}

const GONE = '; kept: in use, and gone from the source since ';
const THERE = '; there: ';

/** Formats a marker as a line, without a line end. */
export function markerLine({ source, goneSince, there }: Marker): string {
  const gone = goneSince === undefined ? '' : `${GONE}${goneSince}`;
  return `${SOURCE_MARKER}${source}${gone}${there === undefined ? '' : `${THERE}${printableJson(there)}`}`;
}

/** Parses the marker in a line; `undefined` for any other line. */
export function parseMarker(line: string): Marker | undefined {
  const text = line.trimEnd();
  if (!text.startsWith(SOURCE_MARKER)) return undefined;
  const [head, there] = cut(text.slice(SOURCE_MARKER.length), THERE);
  const [source, goneSince] = cut(head, GONE);
  if (source !== IMPORTED && !isSourceName(source)) return undefined;
  if (there === undefined) return { source, goneSince };
  const name = parsedString(there);
  return name === undefined ? undefined : { source, goneSince, there: name };
}

function cut(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}

function parsedString(json: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
