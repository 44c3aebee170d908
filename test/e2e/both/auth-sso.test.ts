import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type Browser,
  type BrowserPage,
  missingBrowser,
  startBrowser,
} from '#test/fixtures/browser/chromium.ts';
import {
  type IdentityProvider,
  missingProvider,
  startIdentityProvider,
  valuesForProviders,
} from '#test/fixtures/oidc/identity-provider.ts';
import { createPlace, missingPlace, ownAddress, type Place } from '#test/fixtures/place/place.ts';
import { checkout } from '#test/fixtures/workspace/workspace.ts';

// The agent of examples/sso and its identity provider, as a person at a browser meets them.

const skip =
  missingPlace ||
  missingBrowser ||
  (missingProvider ?? false) ||
  (ownAddress === undefined && 'this machine is in no network that the routers in pods reach');

/** Nobody listens at its provider. */
const lost = JSON.stringify({
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name: 'lost' },
  spec: {
    auth: { mode: 'sso', sso: { issuer: `http://${ownAddress}:9`, clientId: 'ploinky' } },
    code: { inline: { 'index.html': 'never seen' } },
    mcp: { tools: [{ name: 'nothing', command: 'true' }] },
  },
});

describe('Single sign-on in Chromium', { skip, timeout: 300_000 }, () => {
  let place: Place;
  let provider: IdentityProvider;
  let browser: Browser;
  let router = '';
  let pictures = '';
  before(async () => {
    const { SCREENSHOTS } = process.env;
    pictures = SCREENSHOTS ?? (await mkdtemp(join(tmpdir(), 'pictures-')));
    await mkdir(pictures, { recursive: true });
    const early = await startIdentityProvider({ router: 'http://localhost', host: ownAddress });
    const port = Number(new URL(early.issuer).port);
    place = await createPlace({ examples: [], values: () => valuesForProviders(ownAddress ?? '') });
    const example = await readFile(join(checkout, 'examples/sso/team.yaml'), 'utf8');
    const file = join(place.folder, 'team.yaml');
    await writeFile(file, `${example.replaceAll('http://localhost:4000', early.issuer)}---\n${lost}`);
    router = await place.up(file);
    await early.close();
    provider = await startIdentityProvider({ router, port, host: ownAddress });
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await provider?.close();
    await place?.remove();
    if (process.env['SCREENSHOTS'] === undefined) await rm(pictures, { recursive: true, force: true });
  });

  const open = () => browser.open(`${router}/team/index.html`);

  async function shot(page: BrowserPage, name: string): Promise<void> {
    const file = join(pictures, `${name}.png`);
    await page.screenshot(file);
    assert.ok((await stat(file)).size > 4_000, name);
  }

  async function logIn(page: BrowserPage, name: string, password = name): Promise<void> {
    await page.until('document.querySelector("input[name=password]") !== null');
    await page.evaluate(`document.querySelector("input[name=login]").value = ${JSON.stringify(name)}`);
    await page.evaluate(`document.querySelector("input[name=password]").value = ${JSON.stringify(password)}`);
    await page.evaluate('setTimeout(() => document.querySelector("button.main").click())');
  }

  const shows = (page: BrowserPage, selector: string, text: string) =>
    page.until(
      `(document.querySelector(${JSON.stringify(selector)})?.textContent ?? '').includes(${JSON.stringify(text)})`,
    );

  it('sends who is not logged in to the provider, and back with the roles of their groups', async () => {
    const page = await open();
    await shows(page, 'h1', 'Log in');
    assert.equal(await page.evaluate('location.origin'), provider.issuer);
    await shot(page, 'sso-login');
    await logIn(page, 'ana', 'wrong');
    await shows(page, '.problem', 'Wrong name or password.');
    await shot(page, 'sso-wrong-password');
    await logIn(page, 'ana');
    await shows(page, '#who', 'ana · member, admin');
    await shows(page, '#tools', 'reset_everything');
    assert.equal(await page.evaluate('location.href'), `${router}/team/index.html`);
    await shot(page, 'sso-logged-in');
    assert.equal(await page.evaluate('document.cookie'), '', 'no script can read the session');
    await page.evaluate('setTimeout(() => document.querySelector("a[href*=logout]").click())');
    await page.until('document.querySelector("button[name=logout]") !== null');
    await page.evaluate('setTimeout(() => document.querySelector("button[name=logout]").click())');
    await shows(page, 'h1', 'logged out');
    assert.equal(await page.evaluate('location.origin + location.pathname'), `${router}/auth/logged-out`);
    await shot(page, 'sso-logged-out');
    const again = await open();
    await shows(again, 'h1', 'Log in');
  });

  it('shows each person the tools that their roles let them call', async () => {
    const page = await open();
    await logIn(page, 'ben');
    await shows(page, '#who', 'ben · member');
    await shows(page, '#tools', 'greet');
    assert.equal(await page.evaluate('document.querySelector("#tools").textContent'), 'greet');
    await page.evaluate('setTimeout(() => { location.href = "/auth/logout" })');
    await page.until('document.querySelector("button[name=logout]") !== null');
    await page.evaluate('setTimeout(() => document.querySelector("button[name=logout]").click())');
    await shows(page, 'h1', 'logged out');
  });

  it('says so when the provider cannot be reached', async () => {
    const page = await browser.open(`${router}/lost/index.html`);
    await shows(page, 'main', 'The identity provider cannot be reached now.');
    await shot(page, 'sso-unreachable');
    const headers = { accept: 'text/html' };
    const answer = await fetch(`${router}/auth/login?returnTo=/lost/index.html`, { headers });
    assert.equal(answer.status, 503);
  });

  it('logs out by the form of the account page too', async () => {
    const page = await open();
    await logIn(page, 'guest');
    await shows(page, '#who', 'guest · no roles');
    await page.evaluate('setTimeout(() => { location.href = "/auth/account" })');
    await page.until('document.querySelector("form[action^=\'/auth/logout\'] button") !== null');
    await shot(page, 'sso-account');
    await page.evaluate(
      'setTimeout(() => document.querySelector("form[action^=\'/auth/logout\'] button").click())',
    );
    await page.until('document.querySelector("button[name=logout]") !== null');
    await page.evaluate('setTimeout(() => document.querySelector("button[name=logout]").click())');
    await shows(page, 'h1', 'logged out');
  });
});
