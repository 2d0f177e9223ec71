import { after, before } from 'node:test';
import type { Browser } from 'playwright-core';
import type { PageFiles } from '../../../packages/watch/src/dashboard/files/page-files.ts';
import {
  type DashboardContext,
  DashboardServer,
  loadPageFiles,
  SOURCES,
} from '@weir/watch/dashboard';
import { parseLocalListen } from '@weir/server/local-http';
import { VERSION } from '@weir/base';
import { contextOf, FakeApi, statusOf } from '../dashboard/context.ts';
import { fakeMonitor, type FakeMonitor } from '../dashboard/fake-monitor.ts';
import { checkAccessible } from './accessible.ts';
import { openBrowser, withoutBrowser } from './open-browser.ts';
import { VIEWPORTS, type OpenOptions } from './stage.ts';
import { WatchedPage } from './watched-page.ts';

/** What one test looks at: a dashboard in this process, of a Weir that the test makes up. */
export class FakeScene implements AsyncDisposable {
  readonly monitor: FakeMonitor;
  readonly api: FakeApi;
  readonly window: WatchedPage;
  readonly #server: DashboardServer;

  constructor(monitor: FakeMonitor, server: DashboardServer, window: WatchedPage, api: FakeApi) {
    this.monitor = monitor;
    this.#server = server;
    this.window = window;
    this.api = api;
  }

  get page() {
    return this.window.page;
  }

  /** Fails unless axe-core finds nothing, in both themes. */
  checkAccessible(): Promise<void> {
    return checkAccessible(this.page);
  }

  /** Ends the dashboard as when its process is killed. */
  async endDashboard(): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.window[Symbol.asyncDispose]();
    } finally {
      await this.#server[Symbol.asyncDispose]();
    }
  }
}

export interface SceneOptions extends OpenOptions {
  /** What topics and actions work with besides the monitor. */
  readonly context?: Partial<DashboardContext>;
  readonly monitor?: Parameters<typeof fakeMonitor>[0];
  readonly readOnly?: boolean;
  /** In place of those of the checkout. */
  readonly files?: PageFiles;
  /** The control socket; none by default. */
  readonly socket?: string;
}

/** One browser for the tests of a file. */
export class FakeStage {
  readonly skip: string | false = withoutBrowser();
  #browser: Browser | undefined;
  /** Stripping the types of all modules takes longer than a test. */
  #files: Promise<PageFiles> | undefined;

  constructor() {
    if (this.skip !== false) return;
    before(async () => {
      this.#browser = await openBrowser();
    });
    after(() => this.#browser?.close());
  }

  /** A dashboard and a window of it. */
  async open({
    monitor: part,
    context: more,
    readOnly = false,
    at = '',
    files,
    socket,
    ...options
  }: SceneOptions = {}): Promise<FakeScene> {
    if (!this.#browser) throw new Error('the stage begins with the tests of its file');
    await using started = new AsyncDisposableStack();
    const monitor = fakeMonitor({
      status: { value: statusOf(), at: Date.now() },
      listedAt: Date.now(),
      ...part,
    });
    const api = new FakeApi(async () => ({ closed: 1 }));
    const context = contextOf({
      monitor,
      api,
      readOnly,
      socket,
      config: '/etc/weir/weir.toml',
      now: Date.now,
      ...more,
    });
    const server = started.use(
      await DashboardServer.start({
        listen: await parseLocalListen({}, '127.0.0.1:0'),
        files: files ?? (await (this.#files ??= loadPageFiles())),
        context,
        sources: SOURCES.map((create) => create(context)),
        version: VERSION,
        onDefect: (error) => {
          throw error;
        },
      }),
    );
    const browsing = await this.#browser.newContext({ viewport: VIEWPORTS.desk, ...options });
    const window = await WatchedPage.watch(await browsing.newPage(), server.url, []);
    started.use(window);
    await window.page.goto(server.newLink());
    await window.page.locator('.health', { hasNotText: 'Connecting' }).waitFor();
    if (at !== '') await window.goTo(at);
    started.move();
    return new FakeScene(monitor, server, window, api);
  }
}
