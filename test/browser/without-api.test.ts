import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Stage } from '../support/browser/stage.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { blackhole, freedom, rule, socksIn } from '../support/process/config.ts';
import { runWeir } from '../support/process/weir.ts';

const CONFIG = `${socksIn(
  'pw',
  '[inbound.settings]\nauth = "password"\naccounts = [{ user = "ann", pass = "x" }]',
)}${freedom()}${blackhole()}${rule('block', 'domain_suffix = ["ads.example"]')}[route]\ndefault = "direct"\n`;

const stage = new Stage({ config: CONFIG, api: false });
const { skip } = stage;

test(
  'without [api] no user is said to be absent, and its lines on the page make it known who is there',
  { skip },
  async () => {
    const { weir, origin } = stage;
    const flow = await socksConnect(weir.address('pw'), origin.target, { user: 'ann', pass: 'x' });
    flow.on('error', () => undefined).resume();
    await using window = await stage.open({ at: '#/users' });
    const { page } = window;
    window.allowsErrors = true;
    await page.locator('.health', { hasText: 'No API' }).waitFor();
    await page.getByRole('row', { name: /^ann pw \? \? \? \? \?$/ }).waitFor();
    await page
      .getByText('Who is connected is not known: the configuration has no [api].')
      .waitFor();
    await page.getByRole('row', { name: /^ann/ }).click();
    const sheet = page.getByRole('dialog', { name: 'ann' });
    await sheet.getByText('What it uses is not known').waitFor();
    assert.doesNotMatch(await sheet.innerText(), /0 flows|not connected/);
    await page.keyboard.press('Escape');
    // What the control socket counts is there all the same.
    await page.locator('header').getByText('1 flow').waitFor();
    await window.goTo('#/nodes');
    await page.getByRole('row', { name: /^direct freedom .* 1 – / }).waitFor();

    // And what it counts of flows that were never open.
    const blocked = { host: 'www.ads.example', port: 443 };
    await assert.rejects(socksConnect(weir.address('pw'), blocked, { user: 'ann', pass: 'x' }));
    await window.goTo('#/rules');
    await page.getByRole('row', { name: /ads\.example block \(blackhole\) – .* – 1$/ }).click();
    await page.getByRole('dialog').getByText('1 flow, 1 of them blocked').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText(/Taken in .*: 2 flows, 1 of them blocked/).waitFor();

    const lines = await page.locator('.state[data-state=no-api] pre').innerText();
    assert.equal(lines, `[api]\nlisten = "${weir.folder}/weir.api.sock"`);
    await appendFile(`${weir.folder}/weir.toml`, `\n${lines}\n`);
    assert.equal((await runWeir(['reload', weir.controlPath])).ended?.code, 0);
    await window.goTo('#/users');
    await page.locator('.health', { hasText: 'Serving' }).waitFor();
    await page.getByRole('row', { name: /^ann pw 1 127\.0\.0\.1 1/ }).waitFor();
    flow.destroy();
  },
);
