"""The repository map of aider, made once and without its cache: `python aider_map.py REPOSITORY`."""

import os
import sys
import tempfile

from aider.io import InputOutput
from aider.repomap import RepoMap


class Model:
    """What the map asks of a model: how many tokens a text has."""

    def token_count(self, text):
        return len(text) / 4


root = os.path.realpath(sys.argv[1])
files = [
    os.path.join(folder, name)
    for folder, _, names in os.walk(root)
    for name in names
    if "node_modules" not in folder and ".drawloom" not in folder
]
with tempfile.TemporaryDirectory() as cache:
    RepoMap.TAGS_CACHE_DIR = os.path.join(cache, "tags")
    maker = RepoMap(map_tokens=1024, root=root, main_model=Model(), io=InputOutput(yes=True, pretty=False))
    print(maker.get_repo_map([], sorted(files)))
