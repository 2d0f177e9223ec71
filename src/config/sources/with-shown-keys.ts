import { allProtocolsLoaded, loadProtocols } from '../../protocols/registry.ts';
import { KeysUnknownError } from '../shown-keys.ts';

/**
 * Runs `work`, whose errors show lines of a document. Which of its values may be shown depends on the tables
 * of all protocols: an error is the occasion to load these, and `work` then runs again for its error.
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
