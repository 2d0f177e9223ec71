import { allProtocolsLoaded, loadProtocols } from '@weir/proxy/protocols';
import { KeysUnknownError } from '../shown-keys.ts';

/**
 * Runs `work`, whose errors show lines of a document. The tables of all protocols determine the values that may be
 * shown: they are loaded after an error, and `work` then runs again for its error.
 */
export async function withShownKeys<T>(work: () => T): Promise<T> {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof KeysUnknownError) || allProtocolsLoaded()) throw error;
  }
  await loadProtocols();
  return work();
}
