import { ActionError } from '../action-error.ts';
import type { PageAction } from '../contract.ts';
import { jsonOf } from '../json-of.ts';
import { Parameters } from '../parameters.ts';
import type { ConfigState } from './config-state.ts';
import { restoreFile } from './restore-file.ts';
import type { RestorePreview, RestoreResult } from './view.ts';

/** Larger files are not compared: each line that is shown requires a pass over its file. */
const MAX_COMPARED = 4 << 20;

/** The actions of the page Config: reloads, and restoring the last version of the file that ran. */
export class ConfigActions {
  readonly #state: ConfigState;

  constructor(state: ConfigState) {
    this.#state = state;
  }

  get actions(): readonly PageAction[] {
    return [
      {
        name: 'config-reload',
        changes: true,
        run: async () => jsonOf(await this.#state.reload('reload')),
      },
      { name: 'config-difference', changes: false, run: async () => jsonOf(await this.#compare()) },
      {
        name: 'config-restore',
        changes: true,
        run: async (parameters) => {
          const wanted = new Parameters(parameters);
          return jsonOf(await this.#restore(wanted.text('from'), wanted.text('to')));
        },
      },
    ];
  }

  async #compare(): Promise<RestorePreview> {
    const { watched } = this.#state;
    await watched.look();
    const { path, disk, loaded } = watched;
    const { restore } = this.#state;
    if (restore.kind !== 'possible' || path === undefined || disk?.kind !== 'read' || !loaded) {
      const why = restore.kind === 'impossible' ? restore.reason : 'the file is the one that runs';
      throw new ActionError('nothing-to-restore', `There is nothing to restore: ${why}.`);
    }
    if (disk.version.bytes.length + loaded.bytes.length > MAX_COMPARED) {
      throw new ActionError('too-large', 'The file is too large to show the difference here.');
    }
    const difference = await this.#state.files.ask('difference', {
      before: disk.version.bytes,
      after: loaded.bytes,
    });
    return { path, from: disk.version.etag, to: loaded.etag, difference };
  }

  /** @param from entity tag of the file as the page has seen it @param to of the version to restore */
  async #restore(from: string, to: string): Promise<RestoreResult> {
    const { watched } = this.#state;
    const { path, loaded } = watched;
    if (path === undefined || loaded?.etag !== to) {
      return { kind: 'conflict', message: 'Another version has been loaded meanwhile.' };
    }
    const conflict = await restoreFile(path, { from, bytes: loaded.bytes });
    if (conflict !== undefined) {
      await watched.look();
      return { kind: 'conflict', message: conflict };
    }
    return this.#state.loadWritten('restore the last version that ran');
  }
}
