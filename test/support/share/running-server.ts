import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { portOf } from '../data/address.ts';
import { freedom } from '../process/config.ts';
import { runWeir, Weir } from '../process/weir.ts';
import { weirIn } from '../ways/weir-config.ts';
import type { Way } from '../ways/way.ts';

/** A running Weir whose configuration file names the ports that it listens on. */
export class SharingServer implements AsyncDisposable {
  readonly weir: Weir;
  readonly #config: string;
  readonly #printed = new Map<string, Promise<string>>();

  private constructor(weir: Weir, config: string) {
    this.weir = weir;
    this.#config = config;
  }

  /** Serves ways, each as the inbound `way-N`. */
  static async start(ways: readonly Way[]): Promise<SharingServer> {
    const texts = ways.map((way, index) => weirIn(way, { tag: `way-${index}` }));
    const weir = await Weir.start(texts.join('') + freedom());
    const config = join(weir.folder, 'shared.toml');
    const placed = texts.map((text, index) =>
      text.replace(/^port = 0$/m, `port = ${portOf(weir.address(`way-${index}`))}`),
    );
    writeFileSync(config, placed.join('') + freedom());
    return new SharingServer(weir, config);
  }

  /** What `weir share` prints; the command is run once for the same arguments. */
  share(...args: readonly string[]): Promise<string> {
    const key = args.join(' ');
    const printed = this.#printed.get(key) ?? this.#run(args);
    this.#printed.set(key, printed);
    return printed;
  }

  async #run(args: readonly string[]): Promise<string> {
    const { ended, stdout, stderr } = await runWeir([
      'share',
      `--config=${this.#config}`,
      '--host=127.0.0.1',
      ...args,
    ]);
    assert.equal(ended?.code, 0, stderr);
    return stdout;
  }

  /** The link of the last user of a way, by its number; VMess has its name inside. */
  async lastLink(way: number, ...args: readonly string[]): Promise<string> {
    const lines = (await this.share(...args)).trimEnd().split('\n');
    const link = lines.findLast((line) => isOf(way, decodeURIComponent(new URL(line).hash)));
    assert.ok(link);
    return link;
  }

  /** The outbound of another program for the last user of a way. */
  async lastOutbound(way: number, form: 'sing-box' | 'xray'): Promise<object> {
    const { outbounds } = JSON.parse(await this.share('--form', form)) as {
      readonly outbounds: readonly { readonly tag: string }[];
    };
    const outbound = outbounds.findLast(({ tag }) => isOf(way, tag));
    assert.ok(outbound);
    return outbound;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.weir[Symbol.asyncDispose]();
  }
}

const isOf = (way: number, name: string): boolean => name.split(' ').includes(`way-${way}`);
