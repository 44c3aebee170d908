/** A template whose values are escaped. */
export function html(strings, ...values) {
  return strings.reduce((text, part, index) => text + escaped(values[index - 1]) + part);
}

function escaped(value) {
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

export function page(title, body) {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <style>
      body { font: 16px/1.5 system-ui, sans-serif; background: #eef1f4; color: #1d2733; margin: 0; display: grid; place-items: center; min-height: 100vh }
      main { background: #fff; padding: 2rem; border-radius: 12px; width: min(22rem, 90vw); box-shadow: 0 1px 12px #0002 }
      small { color: #6a7684 }
      h1 { margin: .2rem 0 0; font-size: 1.5rem }
      label { display: block; margin: 0 0 .8rem }
      input { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: .5rem; border: 1px solid #b9c2cc; border-radius: 6px }
      button { font: inherit; padding: .5rem 1.2rem; border: 1px solid #b9c2cc; border-radius: 6px; background: #fff; cursor: pointer }
      button.main { background: #0b7a5a; border-color: #0b7a5a; color: #fff }
      .problem { color: #b3261e; min-height: 1.5rem; margin: 0 0 .5rem }
    </style>
  </head>
  <body><main><small>identity provider of this machine</small><h1>${title}</h1>${body}</main></body>
</html>`;
}
