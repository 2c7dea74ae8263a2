// expect: ok
(Object.prototype as any).x = 1;
return await tools.echo({ a: 1 });
