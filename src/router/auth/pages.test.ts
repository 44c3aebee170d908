import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type BrowserPage, missingBrowser, startBrowser } from '#test/fixtures/browser/chromium.ts';
import { agentOf, startTestRouter } from '../testing/harness.ts';
import { editablePeople, personNamed } from './testing/people.ts';

/** Where to leave pictures of the pages; unset: nowhere. */
const pictures = process.env['PLOINKY_PICTURES'];
const long = `/demo/${'a-rather-long-name/'.repeat(6)}`;
const narrow = 360;

/** Contrast of every text with what is behind it (WCAG 2.2, 1.4.3), and of edges of fields (1.4.11). */
const contrasts = `(() => {
  const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map((part) => {
      const one = part / 255;
      return one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [dark, bright] = [light(a), light(b)].sort((x, y) => x - y);
    return (bright + 0.05) / (dark + 0.05);
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const { backgroundColor } = getComputedStyle(one);
      if (backgroundColor !== 'rgba(0, 0, 0, 0)') return backgroundColor;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const style = getComputedStyle(element);
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (hasText) found.push({ what: element.textContent.trim().slice(0, 40), ratio: ratio(style.color, behind(element)), least: 4.5 });
    if (element.matches('input:not([type=hidden]), button.quiet'))
      found.push({ what: 'edge of ' + (element.id || element.textContent), ratio: ratio(style.borderTopColor, behind(element.parentElement)), least: 3 });
  }
  return found;
})()`;

const facts = `({
  lang: document.documentElement.lang,
  title: document.title,
  headings: document.querySelectorAll('h1').length,
  unlabelled: [...document.querySelectorAll('input:not([type=hidden])')].filter(({ labels }) => labels.length !== 1).length,
  wider: Math.max(0, document.documentElement.scrollWidth - innerWidth),
  reordered: [...document.querySelectorAll('[tabindex]')].length,
  small: [...document.querySelectorAll('button, .button, input:not([type=hidden])')].filter((one) => one.offsetHeight < 24).length,
})`;

test('pages to log in can be read and used: light and dark, on a narrow screen, by name', {
  skip: missingBrowser,
  timeout: 90_000,
}, async (t) => {
  const people = editablePeople('default/demo-users', [
    personNamed('ana', { email: `${'ana'.repeat(20)}@example.org`, roles: ['writer'] }),
  ]);
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'visit' }], { people });
  const [demo, visit] = router.agents;
  if (demo === undefined || visit === undefined) throw new Error('no agents');
  const guarded = (fake: typeof demo, mode: 'pwd' | 'guest') => {
    const agent = agentOf(fake);
    return { ...agent, spec: { ...agent.spec, auth: { mode } } };
  };
  router.tables.set([guarded(demo, 'pwd'), guarded(visit, 'guest')]);
  const url = await router.listen();
  const browser = await startBrowser();
  t.after(() => browser.close());
  const page = await browser.open(`${url}/auth/login?returnTo=${long}`);
  await look(page, 'login', 'Log in · Ploinky');
  assert.equal(await page.evaluate('document.activeElement.id'), 'username');
  await logIn(page, 'wrong');
  await page.until('document.querySelector("[role=alert]") !== null');
  await look(page, 'login-wrong', 'Log in · Ploinky');
  await logIn(page, 'correct horse');
  await page.until('!location.pathname.startsWith("/auth/")');
  await go(page, `/auth/account?returnTo=${long}`);
  await look(page, 'account', 'You are logged in · Ploinky');
  await page.evaluate('document.querySelector("form button").click()');
  await page.until('location.pathname === "/auth/logged-out"');
  await look(page, 'logged-out', 'You are logged out · Ploinky');
  await go(page, '/auth/login?returnTo=/visit/');
  await look(page, 'guest', 'Come in · Ploinky');
});

async function go(page: BrowserPage, path: string): Promise<void> {
  await page.evaluate(`void (location.href = ${JSON.stringify(path)})`);
  await page.until(
    `location.pathname + location.search === ${JSON.stringify(path)} && document.readyState === 'complete'`,
  );
}

async function logIn(page: BrowserPage, secret: string): Promise<void> {
  await page.evaluate(`
    document.querySelector('#username').value = 'ana';
    document.querySelector('#password').value = ${JSON.stringify(secret)};
    document.querySelector('form button').click()`);
}

async function look(page: BrowserPage, name: string, title: string): Promise<void> {
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulate({ width: narrow, height: 640, scheme });
    assert.deepEqual(
      await page.evaluate(facts),
      { lang: 'en', title, headings: 1, unlabelled: 0, wider: 0, reordered: 0, small: 0 },
      `${name} ${scheme}`,
    );
    const found = (await page.evaluate(contrasts)) as { what: string; ratio: number; least: number }[];
    assert.ok(found.length > 2);
    const low = found.filter(({ ratio, least }) => ratio < least);
    assert.deepEqual(low, [], `${name} ${scheme}`);
    if (pictures !== undefined) await page.screenshot(join(pictures, `${name}-${scheme}.png`));
  }
}
