// expect: output-limit timeout
return Array.from({ length: 6e4 }, (_, i) => ({ index: i, text: "some text" }));
