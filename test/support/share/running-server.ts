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

  /** What `weir share` prints. */
  async share(...args: readonly string[]): Promise<string> {
    const { ended, stdout, stderr } = await runWeir([
      'share',
      `--config=${this.#config}`,
      '--host=127.0.0.1',
      ...args,
    ]);
    assert.equal(ended?.code, 0, stderr);
    return stdout;
  }

  /** The link of the last user of the last inbound. */
  async lastLink(...args: readonly string[]): Promise<string> {
    return (await this.share(...args)).trimEnd().split('\n').at(-1) ?? '';
  }

  /** The outbound of another program for the last user of the last inbound. */
  async lastOutbound(form: 'sing-box' | 'xray', ...args: readonly string[]): Promise<object> {
    const text = await this.share('--form', form, ...args);
    const { outbounds } = JSON.parse(text) as { readonly outbounds: readonly object[] };
    const outbound = outbounds.at(-1);
    assert.ok(outbound);
    return outbound;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.weir[Symbol.asyncDispose]();
  }
}
