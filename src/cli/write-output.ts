/**
 * Writes the result of a command, and waits until a pipe has accepted all of it, because the process
 * ends next. A closed pipe is not an error.
 */
export async function writeOutput(
  stream: NodeJS.WritableStream,
  text: string | Uint8Array,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  stream.once('error', () => resolve());
  stream.write(text, () => resolve());
  await promise;
}
