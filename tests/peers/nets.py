"""The recipes' nets in PyTorch, parameters under the recipes' names."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LeNet(nn.Module):
    """With norm "batch", a batch norm follows each convolution in place of its bias."""

    def __init__(self, channels, side, classes, width=1, norm="none"):
        super().__init__()
        normed = norm == "batch"
        self.conv1 = nn.Conv2d(channels, 16 * width, 5, padding=2, bias=not normed)
        self.bn1 = nn.BatchNorm2d(16 * width) if normed else nn.Identity()
        self.conv2 = nn.Conv2d(16 * width, 32 * width, 5, bias=not normed)
        self.bn2 = nn.BatchNorm2d(32 * width) if normed else nn.Identity()
        self.fc1 = nn.Linear(32 * width * ((side // 2 - 4) // 2) ** 2, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2).flatten(1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Mlp(nn.Module):
    def __init__(self, inputs, classes, hidden=256, depth=2):
        super().__init__()
        for layer in range(1, depth + 1):
            self.add_module(f"fc{layer}", nn.Linear(inputs if layer == 1 else hidden, hidden))
        self.add_module(f"fc{depth + 1}", nn.Linear(hidden if depth else inputs, classes))

    def forward(self, x):
        *hidden, last = self.children()
        x = x.flatten(1)
        for layer in hidden:
            x = F.relu(layer(x))
        return last(x)


def add_norm(module, number, channels, groups):
    """Adds the norm "bn1" of number 1, or "gn1" where there are groups."""
    norm = nn.GroupNorm(groups, channels) if groups else nn.BatchNorm2d(channels)
    module.add_module(f"gn{number}" if groups else f"bn{number}", norm)
    return lambda x: norm(x)


class CifarBlock(nn.Module):
    """The network of He et al. 2016, section 4.2, with shortcuts of option A."""

    def __init__(self, before, channels, stride, groups):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, padding=1, bias=False)
        self.norm1 = add_norm(self, "1", channels, groups)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = add_norm(self, "2", channels, groups)
        self.missing, self.stride = channels - before, stride

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        if self.stride > 1:
            x = x[:, :, :: self.stride, :: self.stride]
        if self.missing:
            before = self.missing // 2
            x = F.pad(x, (0, 0, 0, 0, before, self.missing - before))
        return F.relu(y + x)


class ResNetCifar(nn.Module):
    """With norm "group" and its number of groups, group norms stand in the place of batch norms."""

    def __init__(self, classes, depth=20, width=1, norm="batch", groups=8):
        super().__init__()
        channels = 16 * width
        groups = groups if norm == "group" else 0
        self.conv1 = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        self.norm1 = add_norm(self, "1", channels, groups)
        for stage in (1, 2, 3):
            blocks, before = [], channels
            channels = 16 * width * 2 ** (stage - 1)
            for block in range((depth - 2) // 6):
                blocks.append(CifarBlock(before, channels, 2 if stage > 1 and block == 0 else 1, groups))
                before = channels
            self.add_module(f"layer{stage}", nn.Sequential(*blocks))
        self.linear = nn.Linear(channels, classes)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(x.mean((2, 3)))


class Bottleneck(nn.Module):
    """A bottleneck block; the stride is in the 3x3 convolution."""

    def __init__(self, before, width, stride):
        super().__init__()
        channels = 4 * width
        self.conv1 = nn.Conv2d(before, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, channels, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or before != channels:
            self.downsample = nn.Sequential(nn.Conv2d(before, channels, 1, stride, bias=False),
                                            nn.BatchNorm2d(channels))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        if self.downsample is not None:
            x = self.downsample(x)
        return F.relu(y + x, inplace=True)


class ResNet50(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        before = 64
        for stage, count in enumerate((3, 4, 6, 3)):
            width, blocks = 64 * 2**stage, []
            for block in range(count):
                blocks.append(Bottleneck(before, width, 2 if stage > 0 and block == 0 else 1))
                before = 4 * width
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(before, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x)), inplace=True), 3, 2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class GptBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.c_attn, self.attn_proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.c_fc, self.mlp_proj = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).chunk(3, 2))
        x = x + self.attn_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """GPT-2 with PyTorch's fused attention, for times; gpt.py compares numbers with transformers' own model."""

    def __init__(self, dim, layers, heads, context, vocabulary):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, dim), nn.Embedding(context, dim)
        self.h = nn.ModuleList(GptBlock(dim, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(dim)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[:tokens.shape[1]]
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def sinusoids(length, dim, like):
    """Positions of Vaswani et al. 2017, section 3.5, [length, dim], in the dtype and on the device of `like`."""
    place = torch.arange(length, dtype=torch.float64)[:, None]
    angle = place * torch.exp(torch.arange(0, dim, 2, dtype=torch.float64) * (-math.log(10000) / dim))
    return torch.stack((angle.sin(), angle.cos()), 2).flatten(1).to(like)


class Transformer(nn.Module):
    """Vaswani et al. 2017, of PyTorch's own layers. One vocabulary: one table of embeddings, which gives the logits too."""

    def __init__(self, dim, layers, heads, hidden, source_vocabulary, target_vocabulary, is_shared, pre_norm=False, dropout=0.0):
        super().__init__()
        if is_shared:
            self.embedding = nn.Embedding(target_vocabulary, dim)
        else:
            self.source_embedding = nn.Embedding(source_vocabulary, dim)
            self.target_embedding = nn.Embedding(target_vocabulary, dim)
        layer = dict(d_model=dim, nhead=heads, dim_feedforward=hidden, dropout=dropout, batch_first=True, norm_first=pre_norm)
        last = lambda: nn.LayerNorm(dim) if pre_norm else None
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), layers, last(), enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**layer), layers, last())
        self.is_shared, self.dropout = is_shared, nn.Dropout(dropout)

    def embed(self, table, tokens):
        x = table(tokens) * math.sqrt(table.embedding_dim)
        return self.dropout(x + sinusoids(tokens.shape[1], table.embedding_dim, x))

    def encode(self, source, lengths):
        """Returns the memory, and the mask of its padding."""
        is_padding = torch.arange(source.shape[1], device=source.device) >= lengths[:, None]
        table = self.embedding if self.is_shared else self.source_embedding
        return self.encoder(self.embed(table, source), src_key_padding_mask=is_padding), is_padding

    def decode(self, memory, is_padding, target):
        """Returns the logits of the token behind each of the target's."""
        table = self.embedding if self.is_shared else self.target_embedding
        later = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device).triu(1)
        x = self.decoder(self.embed(table, target), memory, tgt_mask=later, tgt_is_causal=True, memory_key_padding_mask=is_padding)
        return F.linear(x, table.weight)

    def forward(self, source, lengths, target):
        return self.decode(*self.encode(source, lengths), target)


def translation_loss(net, source, source_lengths, target, target_lengths, label_smoothing, padding=0):
    """The cross-entropy of the target's tokens behind the first, a mean over all of them in the minibatch."""
    logits = net(source, source_lengths, target[:, :-1])
    total = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=padding, reduction="sum",
                            label_smoothing=label_smoothing)
    return total / (target_lengths - 1).sum()


def build(recipe, shape, classes, flags):
    """Returns the net of a recipe; `flags` are the texts of its command line's flags, by name without dashes."""
    channels, height, width = shape
    if recipe == "lenet_mnist":
        return LeNet(channels, height, classes, int(flags.get("width", 1)), flags.get("norm", "none"))
    if recipe == "mlp_mnist":
        if float(flags.get("dropout", 0)) != 0:
            raise SystemExit("mlp_mnist: dropout draws other numbers in PyTorch; compare with --dropout 0")
        return Mlp(channels * height * width, classes, int(flags.get("hidden", 256)), int(flags.get("depth", 2)))
    if recipe == "resnet_cifar":
        return ResNetCifar(classes, int(flags.get("depth", 20)), int(flags.get("width", 1)), flags.get("norm", "batch"),
                           int(flags.get("norm-groups", 8)))
    if recipe == "resnet50":
        return ResNet50(classes)
    raise SystemExit(f"no PyTorch net for the recipe {recipe}")
