import type { ForeignObject } from '../foreign-object.ts';

/** The transport of a stream, for which Xray 26 prefers the key `method`; empty for TCP. */
export function transportOf(stream: ForeignObject): string {
  const network = stream.text('network');
  return stream.firstText('method') ?? network ?? '';
}
