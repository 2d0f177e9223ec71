import type { ByteLink } from '../../net/link.ts';

/**
 * Waits until the control connection of an association ends, on either side of it. What the peer
 * still says on it means nothing. Resolves with the failure, if it was one; never rejects.
 */
export async function endOf(control: ByteLink): Promise<Error | undefined> {
  try {
    while ((await control.read()) !== undefined);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
