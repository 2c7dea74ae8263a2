// Counts the words of a set of files, the way a model would write it.
interface Report {
  path: string;
  words: number;
  longest: string;
}

const paths: string[] = ["a.md", "b.md", "c.md", "d.md", "e.md"];

async function load(path: string): Promise<string> {
  const file = await tools.echo({ path, text: `The text of ${path}, with a few words in it.` });
  return file.text;
}

function report(path: string, text: string): Report {
  const words = text.split(/\W+/).filter((w) => w.length > 0);
  const longest = words.reduce((a, b) => (b.length > a.length ? b : a), "");
  return { path, words: words.length, longest };
}

const reports: Report[] = [];
for (const path of paths) {
  const text = await load(path);
  reports.push(report(path, text));
}

const checks = await Promise.all(
  reports.map((r) => tools.echo({ path: r.path, ok: r.words > 3 })),
);
const failed = checks.filter((c) => !c.ok);
if (failed.length > 0) {
  console.warn("too short:", failed.map((f) => f.path).join(", "));
}

const total = reports.reduce((sum, r) => sum + r.words, 0);
await tools.noop({ total });
const summary = await tools.echo({ total, files: reports.length });
console.log(`${summary.files} files, ${summary.total} words`);
console.log(reports[0]);
return { ...summary, reports };
