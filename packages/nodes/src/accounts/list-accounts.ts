import { EditError, readConfigFile } from '@weir/server/edits';
import { listUsers, type WrittenUser } from '@weir/config/edit';
import { ConfigError, renderConfigError } from '@weir/config';
import { decodeSource, withShownKeys } from '@weir/config/documents';
import { loadForms } from '@weir/proxy/protocols';
import { messageOf, WeirError } from '@weir/base';

/**
 * The users in a configuration file, without secrets.
 * @param inbound tag of the only inbound to list
 * @throws {EditError} when the file cannot be read or is not TOML
 * @throws {UserError} when no inbound has the tag, or it has no users
 */
export async function listAccounts(
  config: string,
  inbound?: string,
): Promise<readonly WrittenUser[]> {
  try {
    await loadForms();
    const bytes = await readConfigFile(config);
    return await withShownKeys(() => listUsers(decodeSource(bytes, config), inbound));
  } catch (error) {
    if (error instanceof WeirError && !(error instanceof ConfigError)) throw error;
    const message = error instanceof ConfigError ? renderConfigError(error) : messageOf(error);
    throw new EditError('unreadable', `${config}: ${message}`, { cause: error });
  }
}
