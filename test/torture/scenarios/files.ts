import { readdir, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isTemporaryName } from '../../../packages/server/src/app/replace-file.ts';
import { socksConnect } from '../../support/peers/socks-client.ts';
import { freedom, httpIn, socksIn } from '../../support/process/config.ts';
import { Download, ownAddress, streamOrigin } from '../../support/process/load.ts';
import { guarded } from '../exchange.ts';
import type { Failure } from '../faults.ts';
import {
  SERVED,
  unserved,
  Violation,
  type Outcome,
  type Scenario,
  type Stage,
} from '../scenario.ts';
import { Victim } from '../victim.ts';
import { BASE } from './relays.ts';

const NODES = ['One', 'Two']
  .map(
    (name) =>
      `[[proxy_server]]\nname = "${name}"\nprotocol = "socks"\nserver = "127.0.0.1"\nport = 9\n`,
  )
  .join('');
const GROUP =
  '[[route_group]]\nname = "Video"\n[[route_group.rule]]\ndomain_suffix = ["video.example"]\n';

const picked = (node: string): string =>
  `# kept\n${BASE}${socksIn()}${freedom()}[subscribe]\npath = "sub.toml" # kept too\n[subscribe.routes]\nVideo = "${node}" # its pick\n`;

/** No file of an edit stays, but what could not be removed, and that is not in the way. */
async function lookForLeftovers(folder: string, failure: Failure | undefined): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!isTemporaryName(name, 'weir.toml') && !name.includes('.lock')) continue;
    const path = join(folder, name);
    const isEmptyLock = (await stat(path)).size === 0;
    if (failure?.call !== 'fs.unlink' && !isEmptyLock) {
      throw new Violation(`${name} is left: ${await readFile(path, 'utf8')}`);
    }
    // The next edit removes an empty lock itself.
    if (!isEmptyLock) await unlink(path);
  }
}

/** Picks by the API, each of the other node. */
async function startPicks(): Promise<Stage> {
  const victim = await Victim.start(picked('One'), { 'sub.toml': NODES + GROUP });
  const { api, file } = victim.control;
  let now = 'One';
  const use = async (failure: Failure | undefined): Promise<Outcome> => {
    const next = now === 'One' ? 'Two' : 'One';
    const reply = await api.pick('Video', next);
    await victim.disarm();
    const text = await readFile(file, 'utf8');
    const isNext = text === picked(next);
    if (!isNext && text !== picked(now)) throw new Violation(`the file is neither: ${text}`);
    if (isNext) now = next;
    await lookForLeftovers(victim.weir.folder, failure);
    const routes = await api.get('/v1/routes');
    if (!routes.text.includes(`"pick":"${now}"`)) throw new Violation(`the API: ${routes.text}`);
    if (reply.status !== 200) return unserved(reply.text);
    if (!isNext) throw new Violation('a pick was confirmed that is not in the file');
    return SERVED;
  };
  return {
    victim,
    use: (failure) => guarded(() => use(failure)),
    [Symbol.asyncDispose]: () => victim[Symbol.asyncDispose](),
  };
}

const WITHOUT = `${BASE}${socksIn()}${freedom()}`;
const WITH = `${WITHOUT}${httpIn('more')}${freedom('spare')}`;

/** A listener comes and goes while a flow stays. */
async function startReloads(): Promise<Stage> {
  const origin = await streamOrigin();
  const victim = await Victim.start(WITHOUT);
  const { control } = victim;
  const host = ownAddress();
  const socket = await socksConnect(victim.weir.address('socks'), { host, port: origin.port });
  const download = new Download(socket, host);
  let isWith = false;
  const reload = async (): Promise<Outcome> => {
    await control.write(isWith ? WITHOUT : WITH);
    const { status, text } = await control.post();
    // The flow stays, whatever comes of the reload.
    await download.round(70_000);
    if (status !== 200) return unserved(text);
    isWith = !isWith;
    return SERVED;
  };
  /** There and back: what is held is compared with what was held before. */
  const use = async (): Promise<Outcome> => {
    const there = await reload();
    const back = isWith ? await reload() : SERVED;
    if (!there.served || !back.served) {
      await victim.disarm();
      // A refused reload leaves what runs; the next one has to bring it back.
      const again = isWith ? await reload() : SERVED;
      if (!again.served) throw new Violation(`no way back: ${again.why}`);
      await control.write(WITHOUT);
      await control.post();
      return there.served ? back : there;
    }
    return SERVED;
  };
  return {
    victim,
    use: () => guarded(use),
    async [Symbol.asyncDispose]() {
      download[Symbol.dispose]();
      await victim[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
    },
  };
}

const FLOW_CALLS = new Set(['recv', 'send', 'splice']);

export const FILES: readonly Scenario[] = [
  { name: 'pick', start: startPicks },
  {
    name: 'reload',
    start: startReloads,
    // The flow that has to stay may not be aborted by a call of its own.
    calls: (call) => !FLOW_CALLS.has(call),
  },
];
