import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FetchedDocument, FetchRequest } from '../../../packages/nodes/src/fetch/contract.ts';
import { EDIT_WRITTEN } from '@weir/client/client/apply-edit';
import { WeirError } from '@weir/base';
import {
  addSource,
  updateSources,
  type UpdateTools,
  type SourceOutcome,
} from '@weir/nodes/subscribe';
import { scratch } from '../process/weir.ts';

/** A configuration in a folder of its own, whose sources answer from memory. */
export interface TestWorkspace extends AsyncDisposable {
  readonly config: string;
  /** What sources answer, by their URL; settable. */
  readonly answers: Map<string, string | Partial<FetchedDocument> | Error>;
  /** Requests so far. */
  readonly requests: FetchRequest[];
  /** What was applied so far; a reload is refused while `refusal` is set. */
  readonly applied: string[];
  refusal: string | undefined;
  /** The running Weir ends before it says what has become of a reload. */
  isLost: boolean;
  now: number;
  readonly tools: UpdateTools;
  /** The text of a file; empty without one. */
  text(name: string): Promise<string>;
  write(name: string, text: string): Promise<void>;
  add(name: string, url?: string): Promise<SourceOutcome>;
  /** @param options of `updateSources` */
  update(options?: Partial<Parameters<typeof updateSources>[0]>): Promise<readonly SourceOutcome[]>;
}

export const DIRECT = '[[outbound]]\ntag = "out"\nprotocol = "freedom"\n';

export async function testWorkspace(config = DIRECT): Promise<TestWorkspace> {
  const folder = await scratch();
  const path = join(folder.path, 'weir.toml');
  await writeFile(path, config);
  const text = async (name: string): Promise<string> =>
    readFile(join(folder.path, name), 'utf8').catch(() => '');
  const workspace: TestWorkspace = {
    config: path,
    answers: new Map(),
    requests: [],
    applied: [],
    refusal: undefined,
    isLost: false,
    now: Date.UTC(2026, 0, 1),
    text,
    write: (name, content) => writeFile(join(folder.path, name), content),
    add: (name, url = `http://${name}.example/`) =>
      addSource(
        { config: path, source: { name, url }, dryRun: false, force: false },
        workspace.tools,
      ),
    update: (options = {}) =>
      updateSources(
        { config: path, names: [], ifDue: false, dryRun: false, force: false, ...options },
        workspace.tools,
      ),
    tools: {
      now: () => workspace.now,
      openFetch: () =>
        Promise.resolve({
          fetch: async (request) => {
            workspace.requests.push(request);
            return documentOf(request.url, workspace.answers.get(request.url));
          },
          [Symbol.asyncDispose]: () => Promise.resolve(),
        }),
      apply: async (what, write) => {
        const { undo } = await write();
        workspace.applied.push(what);
        if (workspace.isLost) throw new WeirError(EDIT_WRITTEN, 'written, the rest is unknown');
        if (workspace.refusal === undefined) return;
        await undo();
        throw new WeirError('edit_refused', workspace.refusal);
      },
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
  return workspace;
}

function documentOf(
  url: string,
  answer: string | Partial<FetchedDocument> | Error | undefined,
): FetchedDocument {
  if (answer instanceof Error) throw answer;
  const given =
    typeof answer === 'string' ? { body: Buffer.from(answer) } : (answer ?? { status: 404 });
  return { status: 200, headers: new Map(), body: new Uint8Array(), url, ...given };
}
