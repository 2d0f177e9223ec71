import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readState } from '../../packages/nodes/src/subscribe/files/state-file.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { API } from '../support/process/control.ts';
import { link } from '../support/subscribe/nodes.ts';
import { testWorkspace, type TestWorkspace } from '../support/subscribe/workspace.ts';

/** Nodes of a list; two lists that follow each other share the later ones of the first. */
const NODES = 40;
const SHIFT = 10;

const list = (from: number): string =>
  Array.from({ length: NODES }, (_, index) => link(`Node ${from + index}`)).join('\n');

/** What the source answers in turns. */
export const LISTS = [list(0), list(SHIFT)] as const;

/** Nodes that both lists have, so that a pick stands after each update. */
export const PICKS = Array.from({ length: NODES - SHIFT }, (_, index) => `Node ${SHIFT + index}`);

const FIRST_PICK = `"${PICKS[0]}"`;

/** A folder whose files processes change until they are killed. */
export class CrashStage implements AsyncDisposable {
  readonly #workspace: TestWorkspace;
  /** The configuration with the first pick. */
  readonly #config: string;
  /** What the subscribe file has after an update. */
  readonly #lists: ReadonlySet<string>;

  private constructor(workspace: TestWorkspace, config: string, lists: ReadonlySet<string>) {
    this.#workspace = workspace;
    this.#config = config;
    this.#lists = lists;
  }

  /** @param pick picks the first node by a Weir that runs on the configuration. */
  static async make(pick: (config: string, node: string) => Promise<void>): Promise<CrashStage> {
    const url = 'http://home.example/';
    const comment = '# kept, and so is the line after the pick\n';
    const workspace = await testWorkspace(`${comment}${API}${socksIn()}${freedom('out')}`);
    try {
      const lists = new Set<string>();
      workspace.answers.set(url, LISTS[0]);
      await workspace.add('home');
      for (const body of [...LISTS, ...LISTS]) {
        workspace.answers.set(url, body);
        await workspace.update();
        lists.add(await workspace.text('nodes.toml'));
      }
      await pick(workspace.config, PICKS[0] ?? '');
      const config = await workspace.text('weir.toml');
      if (config.split(FIRST_PICK).length !== 2 || !config.startsWith(comment)) {
        throw new Error(`not one pick: ${config}`);
      }
      return new CrashStage(workspace, config, lists);
    } catch (error) {
      await workspace[Symbol.asyncDispose]();
      throw error;
    }
  }

  get config(): string {
    return this.#workspace.config;
  }

  /** @throws {Error} unless each file is what it was before some change, or after it. */
  async check(): Promise<void> {
    const config = await readFile(this.config, 'utf8');
    const isPick = PICKS.some((node) => config === this.#config.replace(FIRST_PICK, `"${node}"`));
    if (!isPick) throw new Error(`the configuration is none of a pick:\n${config}`);
    const nodes = await this.#workspace.text('nodes.toml');
    if (!this.#lists.has(nodes)) throw new Error(`the subscribe file is none of a list:\n${nodes}`);
    readState(await this.#workspace.text('nodes.state.json'));
  }

  /** Files beside those that belong there: drafts and locks of processes that were killed. */
  async leftovers(): Promise<readonly string[]> {
    const names = await readdir(join(this.config, '..'));
    return names.filter((name) => name.startsWith('.'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workspace[Symbol.asyncDispose]();
  }
}
