import type { ByteLink } from '@weir/io/links';

/** The text of a stream, to its end. */
export async function collectAll(link: ByteLink): Promise<string> {
  const chunks: Uint8Array[] = [];
  for (let chunk = await link.read(); chunk; chunk = await link.read()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
