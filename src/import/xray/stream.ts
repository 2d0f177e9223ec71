import type { ForeignObject } from '../foreign-object.ts';

/** The transport of a stream, which Xray 26 calls `method` first; empty for TCP. */
export function transportOf(stream: ForeignObject): string {
  const network = stream.text('network');
  return stream.firstText('method') ?? network ?? '';
}
