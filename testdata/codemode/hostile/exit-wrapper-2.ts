// expect: exception
})(); throw 1; (async function () {
