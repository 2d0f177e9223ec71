import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { randomBytes } from 'node:crypto';
import { after, before } from 'node:test';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { ApiClient } from '../../../packages/server/test/conformance/api-client.ts';
import { freedom, socksIn } from '../process/config.ts';
import { Control, type Connections } from '../process/control.ts';
import { streamOrigin } from '../process/load.ts';
import { socksConnect } from '../peers/socks-client.ts';
import { Weir, type WeirOptions } from '../process/weir.ts';
import { DashboardProcess } from './dashboard-process.ts';
import { openBrowser, withoutBrowser } from './open-browser.ts';
import { WatchedPage } from './watched-page.ts';

export interface StageOptions {
  /** Lines of the configuration without `[api]`; a SOCKS inbound `socks` and an outbound `direct` by default. */
  readonly config?: string;
  /** Flows through the inbound `socks` from the start, to `127.0.0.1`. */
  readonly flows?: number;
  /** Options of `weir dashboard`, such as `--read-only`. */
  readonly args?: readonly string[];
  /** Files beside the configuration, a control socket and others; it has one by default. */
  readonly weir?: WeirOptions;
  /** `false` for a configuration without `[api]`. */
  readonly api?: false;
}

export interface OpenOptions extends BrowserContextOptions {
  /** The place in the page, such as `#/connections`. */
  readonly at?: string;
}

type Origin = Awaited<ReturnType<typeof streamOrigin>>;

/** Wide, tall and as wide as phones are: what pages are looked at in. */
export const VIEWPORTS = {
  phone: { width: 360, height: 740 },
  tablet: { width: 820, height: 1180 },
  desk: { width: 1440, height: 900 },
} as const;

/**
 * A running Weir, a `weir dashboard` of it and a browser, for all tests of a file. `open` gives a test a window of
 * its own, in a new session.
 */
export class Stage {
  /** For the options of tests: why they cannot run here. */
  readonly skip: string | false = withoutBrowser();
  /** That of `[api]`, which must not reach a browser. */
  readonly secret = `secret-${randomBytes(8).toString('hex')}`;
  readonly #options: StageOptions;
  #parts: Parts | undefined;

  /** Begins before the first test of the file, and ends after the last one. */
  constructor(options: StageOptions = {}) {
    this.#options = options;
    if (this.skip !== false) return;
    before(() => this.#start());
    after(() => this.#stop());
  }

  get weir(): Weir {
    return this.#started.weir;
  }

  get dashboard(): DashboardProcess {
    return this.#started.dashboard;
  }

  get browser(): Browser {
    return this.#started.browser;
  }

  /** Weir's API, as its other clients use it. */
  get api(): ApiClient {
    const { api } = this.#started;
    if (!api) throw new Error('this stage has no [api]');
    return api;
  }

  /** What flows go to: it sends nothing until it is asked to. */
  get origin(): Origin {
    return this.#started.origin;
  }

  /** The text of Weir's configuration file. */
  readConfig(): Promise<string> {
    return readFile(`${this.weir.folder}/weir.toml`, 'utf8');
  }

  /** Opens a flow through the inbound `socks`, which lasts until the end of the file unless it is closed. */
  async openFlow(target: { host: string; port: number } = this.origin.target): Promise<Socket> {
    const socket = await socksConnect(this.weir.address('socks'), target);
    socket.on('error', () => undefined).resume();
    this.#started.sockets.add(socket);
    return socket;
  }

  /** A window in a session of its own, with the link used and the page shown. */
  async open({ at = '', ...options }: OpenOptions = {}): Promise<WatchedPage> {
    const { dashboard } = this.#started;
    const window = await this.openBare(options);
    await window.page.goto(await dashboard.newLink());
    await window.page.locator('html[data-ready="true"]').waitFor({ state: 'attached' });
    await window.page.locator('header').waitFor();
    if (at !== '') await window.goTo(at);
    return window;
  }

  /** The flows that Weir lists. */
  async flows(): Promise<Connections['flows']> {
    return ((await this.api.json('GET', '/v1/connections')) as Connections).flows;
  }

  /** A window without a session, at no page. @param dashboard another one than the stage's */
  async openBare(
    options: BrowserContextOptions = {},
    dashboard: DashboardProcess = this.dashboard,
  ): Promise<WatchedPage> {
    const { browser } = this.#started;
    const context = await browser.newContext({ viewport: VIEWPORTS.desk, ...options });
    return WatchedPage.watch(await context.newPage(), dashboard.url, [this.secret]);
  }

  get #started(): Parts {
    if (!this.#parts) throw new Error('the stage begins with the tests of its file');
    return this.#parts;
  }

  async #start(): Promise<void> {
    const { config = socksIn() + freedom(), flows = 0, args = [], api, weir: more } = this.#options;
    const table =
      api === false ? '' : `[api]\nlisten = "127.0.0.1:0"\nsecret = "${this.secret}"\n\n`;
    await using started = new AsyncDisposableStack();
    const opening = openBrowser();
    started.defer(async () => (await opening).close());
    const origin = started.use(await streamOrigin());
    const weir = started.use(await Weir.start(table + config, { control: true, ...more }));
    const control = api === false ? undefined : await Control.of(weir);
    const dashboard = started.use(
      await DashboardProcess.start([
        '--config',
        `${weir.folder}/weir.toml`,
        '--socket',
        weir.controlPath,
        ...args,
      ]),
    );
    const sockets = new Set<Socket>();
    started.defer(() => {
      for (const socket of sockets) socket.destroy();
    });
    this.#parts = {
      weir,
      dashboard,
      browser: await opening,
      origin,
      sockets,
      api: control && new ApiClient(control.api.address, this.secret),
      started: started.move(),
    };
    for (let n = 0; n < flows; n++) await this.openFlow();
  }

  async #stop(): Promise<void> {
    await this.#parts?.started.disposeAsync();
  }
}

interface Parts {
  readonly weir: Weir;
  readonly dashboard: DashboardProcess;
  readonly browser: Browser;
  readonly origin: Origin;
  readonly sockets: Set<Socket>;
  readonly api: ApiClient | undefined;
  readonly started: AsyncDisposableStack;
}
