import type { ByteLink } from '@weir/io/links';

/** Reads up to the end of a link. */
export async function readAll(link: ByteLink): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const chunk = await link.read();
    if (!chunk) return Buffer.concat(chunks);
    chunks.push(chunk);
  }
}

/** Reads exactly that many bytes; bytes after them are put back into the link. */
export async function readExactly(link: ByteLink, length: number): Promise<Buffer> {
  let bytes: Buffer = Buffer.alloc(0);
  while (bytes.length < length) {
    const chunk = await link.read();
    if (!chunk) throw new Error(`the link ended after ${bytes.toString('hex')}`);
    bytes = Buffer.concat([bytes, chunk]);
  }
  link.unread(bytes.subarray(length));
  return bytes.subarray(0, length);
}
